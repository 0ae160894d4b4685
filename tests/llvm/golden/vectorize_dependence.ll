; passes: vectorize, combine
; options: unroll=1
define void @kernel(ptr noalias readonly %x, ptr noalias %out, ptr noalias %bytes, float %scale, i64 %bound) {
entry:
  br label %header

header:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, 32
  br i1 %more, label %body, label %exit

body:
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %v = load float, ptr %p, align 4
  %before = add i64 %i, -1
  %r = getelementptr inbounds float, ptr %out, i64 %before
  %w = load float, ptr %r, align 4
  %a = fadd float %w, %v
  %q = getelementptr inbounds float, ptr %out, i64 %i
  store float %a, ptr %q, align 4
  %next = add nuw nsw i64 %i, 1
  br label %header

exit:
  ret void
}
; after
; loop kernel/header stays scalar, because an iteration needs what another one writes to %out
define void @kernel(ptr noalias readonly %x, ptr noalias %out, ptr noalias %bytes, float %scale, i64 %bound) {
entry:
  br label %header

header:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, 32
  br i1 %more, label %body, label %exit

body:
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %v = load float, ptr %p, align 4
  %before = add i64 %i, -1
  %r = getelementptr inbounds float, ptr %out, i64 %before
  %w = load float, ptr %r, align 4
  %a = fadd float %w, %v
  %q = getelementptr inbounds float, ptr %out, i64 %i
  store float %a, ptr %q, align 4
  %next = add nuw nsw i64 %i, 1
  br label %header

exit:
  ret void
}
