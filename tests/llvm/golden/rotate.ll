; passes: rotate, simplify-cfg
define void @rotate(ptr noalias %x, ptr noalias %out) {
entry:
  br label %header

header:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %total = phi float [ 0.0, %entry ], [ %sum, %body ]
  %more = icmp ult i64 %i, 300
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
; loop rotate/header tests at its bottom: it runs at least once, and saves a jump each time
define void @rotate(ptr noalias %x, ptr noalias %out) {
entry:
  br label %header

header:
  %i = phi i64 [ 0, %entry ], [ %next, %header ]
  %total = phi float [ 0x0000000000000000, %entry ], [ %sum, %header ]
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %v = load float, ptr %p, align 4
  %sum = fadd float %total, %v
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 300
  br i1 %more, label %header, label %exit

exit:
  store float %sum, ptr %out, align 4
  ret void
}
