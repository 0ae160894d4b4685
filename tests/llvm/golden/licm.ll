; passes: licm
define void @hoist(ptr noalias readonly %x, ptr noalias %out, i64 %row) {
entry:
  br label %header

header:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, 10
  br i1 %more, label %body, label %exit

body:
  %base = mul i64 %row, 10
  %p = getelementptr inbounds float, ptr %x, i64 %base
  %scale = load float, ptr %p, align 4
  %index = add i64 %base, %i
  %q = getelementptr inbounds float, ptr %out, i64 %index
  %first = load float, ptr %out, align 4
  %v = fmul float %scale, %first
  store float %v, ptr %q, align 4
  %next = add i64 %i, 1
  br label %header

exit:
  ret void
}
; after
; loop hoist/header: 3 instructions do not change in it and go before it (%base, %p, %scale)
define void @hoist(ptr noalias readonly %x, ptr noalias %out, i64 %row) {
entry:
  %base = mul i64 %row, 10
  %p = getelementptr inbounds float, ptr %x, i64 %base
  %scale = load float, ptr %p, align 4
  br label %header

header:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, 10
  br i1 %more, label %body, label %exit

body:
  %index = add i64 %base, %i
  %q = getelementptr inbounds float, ptr %out, i64 %index
  %first = load float, ptr %out, align 4
  %v = fmul float %scale, %first
  store float %v, ptr %q, align 4
  %next = add i64 %i, 1
  br label %header

exit:
  ret void
}
