; passes: gvn
define void @reuse(ptr noalias readonly %x, ptr noalias %out, i64 %i) {
entry:
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %a = load float, ptr %p, align 4
  %q = getelementptr inbounds float, ptr %out, i64 %i
  store float %a, ptr %q, align 4
  %p2 = getelementptr inbounds float, ptr %x, i64 %i
  %b = load float, ptr %p2, align 4
  %c = load float, ptr %q, align 4
  %s = fadd float %b, %c
  %t = fadd float %c, %b
  %first = load float, ptr %out, align 4
  store float %s, ptr %q, align 4
  %second = load float, ptr %out, align 4
  %u = fadd float %first, %second
  %v = fadd float %u, %t
  store float %v, ptr %q, align 4
  ret void
}
; after
; reuse: 4 instructions repeat a value that is already there
define void @reuse(ptr noalias readonly %x, ptr noalias %out, i64 %i) {
entry:
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %a = load float, ptr %p, align 4
  %q = getelementptr inbounds float, ptr %out, i64 %i
  store float %a, ptr %q, align 4
  %s = fadd float %a, %a
  %first = load float, ptr %out, align 4
  store float %s, ptr %q, align 4
  %second = load float, ptr %out, align 4
  %u = fadd float %first, %second
  %v = fadd float %u, %s
  store float %v, ptr %q, align 4
  ret void
}
