; passes: dce
define void @dead(ptr noalias %x) {
entry:
  %slot = alloca float, i64 4, align 4
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %circle = phi float [ 0.0, %entry ], [ %round, %loop ]
  %round = fadd float %circle, 1.0
  %p = getelementptr inbounds float, ptr %slot, i64 %i
  store float 1.0, ptr %p, align 4
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 4
  br i1 %more, label %loop, label %exit

lost:
  br label %exit

exit:
  store float 2.0, ptr %x, align 4
  ret void
}
; after
define void @dead(ptr noalias %x) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 4
  br i1 %more, label %loop, label %exit

exit:
  store float 0x4000000000000000, ptr %x, align 4
  ret void
}
