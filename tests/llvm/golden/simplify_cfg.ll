; passes: simplify-cfg
define void @straighten(ptr noalias %x, i1 %c) {
entry:
  br label %next

next:
  br i1 true, label %taken, label %never

never:
  store float 1.0, ptr %x, align 4
  br label %taken

taken:
  %v = phi float [ 2.0, %next ], [ 3.0, %never ]
  br i1 %c, label %empty, label %other

empty:
  br label %end

other:
  store float 4.0, ptr %x, align 4
  br label %end

end:
  store float %v, ptr %x, align 4
  ret void
}
; after
define void @straighten(ptr noalias %x, i1 %c) {
entry:
  br i1 %c, label %end, label %other

other:
  store float 0x4010000000000000, ptr %x, align 4
  br label %end

end:
  store float 0x4000000000000000, ptr %x, align 4
  ret void
}
