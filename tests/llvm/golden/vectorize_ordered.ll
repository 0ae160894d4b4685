; passes: vectorize, combine
; options: unroll=1
define void @kernel(ptr noalias readonly %x, ptr noalias %out, ptr noalias %bytes, float %scale, i64 %bound) {
entry:
  br label %header

header:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %total = phi float [ 0.0, %entry ], [ %sum, %body ]
  %more = icmp ult i64 %i, 64
  br i1 %more, label %body, label %exit

body:
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %v = load float, ptr %p, align 4
  %sum = fadd float %total, %v
  %next = add nuw nsw i64 %i, 1
  br label %header

exit:
  store float %total, ptr %out, align 4
  ret void
}
; after
; loop kernel/header stays scalar, because the order of the operations on %total must be kept
define void @kernel(ptr noalias readonly %x, ptr noalias %out, ptr noalias %bytes, float %scale, i64 %bound) {
entry:
  br label %header

header:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %total = phi float [ 0x0000000000000000, %entry ], [ %sum, %body ]
  %more = icmp ult i64 %i, 64
  br i1 %more, label %body, label %exit

body:
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %v = load float, ptr %p, align 4
  %sum = fadd float %total, %v
  %next = add nuw nsw i64 %i, 1
  br label %header

exit:
  store float %total, ptr %out, align 4
  ret void
}
