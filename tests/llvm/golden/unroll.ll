; passes: unroll, simplify-cfg, combine
define void @unroll(ptr noalias %x, ptr noalias %out) {
entry:
  br label %header

header:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %total = phi float [ 0.0, %entry ], [ %sum, %body ]
  %more = icmp ult i64 %i, 3
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
; loop unroll/header: its 3 iterations of 5 instructions are written out
; unroll: 9 rewrites (address 1, constant right 1, dead 4, fold 3)
define void @unroll(ptr noalias %x, ptr noalias %out) {
entry:
  %v.1 = load float, ptr %x, align 4
  %sum.1 = fadd float %v.1, 0x0000000000000000
  %p.2 = getelementptr inbounds float, ptr %x, i64 1
  %v.2 = load float, ptr %p.2, align 4
  %sum.2 = fadd float %sum.1, %v.2
  %p.3 = getelementptr inbounds float, ptr %x, i64 2
  %v.3 = load float, ptr %p.3, align 4
  %sum.3 = fadd float %sum.2, %v.3
  store float %sum.3, ptr %out, align 4
  ret void
}
