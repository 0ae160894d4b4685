; passes: mem2reg
define void @paths(ptr noalias %x, i1 %c) {
entry:
  %v = alloca float, align 4
  %w = alloca float, align 4
  br i1 %c, label %then, label %else

then:
  store float 1.0, ptr %v, align 4
  store float 3.0, ptr %w, align 4
  br label %end

else:
  store float 2.0, ptr %v, align 4
  br label %end

end:
  %read = load float, ptr %v, align 4
  store float %read, ptr %x, align 4
  ret void
}
; after
; paths/%v becomes SSA values: 1 loads and 2 stores go, 1 phis come
; paths/%w becomes SSA values: 0 loads and 1 stores go, 0 phis come
define void @paths(ptr noalias %x, i1 %c) {
entry:
  br i1 %c, label %then, label %else

then:
  br label %end

else:
  br label %end

end:
  %v = phi float [ 0x4000000000000000, %else ], [ 0x3FF0000000000000, %then ]
  store float %v, ptr %x, align 4
  ret void
}
