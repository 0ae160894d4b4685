; passes: combine
define void @integers(ptr noalias %x, i64 %i, i32 %n, i1 %c) {
entry:
  %a = mul nsw i64 %i, 8
  %b = add i64 4, %a
  %d = add i64 %b, -4
  %p = getelementptr inbounds float, ptr %x, i64 %d
  %p1 = getelementptr inbounds float, ptr %p, i64 3
  %p2 = getelementptr inbounds float, ptr %p1, i64 5
  %q = getelementptr inbounds float, ptr %p2, i64 0
  %t = icmp ne i32 %n, 7
  %z = zext i1 %t to i8
  %back = icmp eq i8 %z, 0
  %s = select i1 %back, i32 %n, i32 12
  %u = udiv i32 %s, 16
  %r = urem i32 %u, 8
  %w = sext i32 %r to i64
  %y = trunc i64 %w to i32
  store i32 %y, ptr %q, align 4
  %dead = mul i32 %y, %n
  %five = sub i32 12, 7
  store i32 %five, ptr %x, align 4
  %not = xor i1 %c, true
  br i1 %not, label %yes, label %no

yes:
  store i32 1, ptr %x, align 4
  br label %no

no:
  ret void
}
; after
; integers: 20 rewrites (add 2, address 2, branch 1, cast 1, compare 1, constant right 1, dead 7, fold 1, mul 1, select 1, udiv 1, urem 1)
define void @integers(ptr noalias %x, i64 %i, i32 %n, i1 %c) {
entry:
  %a = shl nsw i64 %i, 3
  %p = getelementptr inbounds float, ptr %x, i64 %a
  %p2 = getelementptr inbounds float, ptr %p, i64 8
  %t = icmp ne i32 %n, 7
  %s = select i1 %t, i32 12, i32 %n
  %u = lshr i32 %s, 4
  %r = and i32 %u, 7
  store i32 %r, ptr %p2, align 4
  store i32 5, ptr %x, align 4
  br i1 %c, label %no, label %yes

yes:
  store i32 1, ptr %x, align 4
  br label %no

no:
  ret void
}
