/**
 * Nothing that users' code does harms anybody else: whatever it gives, throws or never ends, its call is answered with
 * no word of it, a good caller on the same connection is answered, and no place is lost. Here each recipe
 * is tried at each place over one of the transports, under Bun or Node; `hostile-code.nightly.test.ts` tries all over
 * each of them, under both.
 */
import { testHostileCode } from './all-transports.ts'

testHostileCode(true)
