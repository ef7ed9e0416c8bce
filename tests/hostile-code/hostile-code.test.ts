/**
 * Nothing that users' code does affects other calls. Whatever the code returns or throws, even if it never ends: its
 * call is answered without internal information, a well-behaved caller on the same connection is answered, and no
 * place for requests in flight is lost. In this file, a third of the recipes are tried at each place, each over one of
 * three transports on Bun or Node; `hostile-code.nightly.test.ts` tries all over each transport, on both.
 */
import { testHostileCode } from './all-transports.ts'

testHostileCode(true)
