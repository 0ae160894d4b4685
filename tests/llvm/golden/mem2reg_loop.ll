; passes: mem2reg
define void @sum(ptr noalias %x, ptr noalias %out) {
entry:
  %total = alloca float, align 4                                 ; %reduce.2
  %i.slot = alloca i64, align 8
  %kept = alloca float, i64 4, align 16
  %unread = alloca i32, align 4
  store float 0.0, ptr %total, align 4                           ; %reduce.2
  store i64 0, ptr %i.slot, align 8
  store i32 5, ptr %unread, align 4
  br label %header

header:
  %i = load i64, ptr %i.slot, align 8
  %more = icmp ult i64 %i, 48
  br i1 %more, label %body, label %exit

body:
  %address = getelementptr inbounds float, ptr %x, i64 %i
  %element = load float, ptr %address, align 4                   ; %x
  %old = load float, ptr %total, align 4                         ; %reduce.2
  %new = fadd reassoc float %old, %element                       ; %reduce.2
  store float %new, ptr %total, align 4                          ; %reduce.2
  %next = add nuw nsw i64 %i, 1
  store i64 %next, ptr %i.slot, align 8
  br label %header

exit:
  %result = load float, ptr %total, align 4                      ; %reduce.2
  store float %result, ptr %kept, align 4
  store float %result, ptr %out, align 4                         ; %reduce.2
  ret void
}
; after
; sum/%kept stays in memory, because it is an array of 4
; sum/%total becomes SSA values: 2 loads and 2 stores go, 1 phis come
; sum/%i.slot becomes SSA values: 1 loads and 2 stores go, 1 phis come
; sum/%unread becomes SSA values: 0 loads and 1 stores go, 0 phis come
define void @sum(ptr noalias %x, ptr noalias %out) {
entry:
  %kept = alloca float, i64 4, align 16
  br label %header

header:
  %i.slot = phi i64 [ 0, %entry ], [ %next, %body ]
  %total = phi float [ 0x0000000000000000, %entry ], [ %new, %body ] ; %reduce.2
  %more = icmp ult i64 %i.slot, 48
  br i1 %more, label %body, label %exit

body:
  %address = getelementptr inbounds float, ptr %x, i64 %i.slot
  %element = load float, ptr %address, align 4                   ; %x
  %new = fadd reassoc float %total, %element                     ; %reduce.2
  %next = add nuw nsw i64 %i.slot, 1
  br label %header

exit:
  store float %total, ptr %kept, align 4
  store float %total, ptr %out, align 4                          ; %reduce.2
  ret void
}
