/**
 * Nothing that users' code does affects other calls. Whatever the code returns or throws, even if it never ends: its
 * call is answered without internal information, a well-behaved caller on the same connection is answered, and no
 * place for requests in flight is lost. In this file, each runtime tries each recipe at each place over one of two
 * transports; `hostile-code.nightly.test.ts` tries each recipe over each transport, on both.
 */
import { testHostileCode } from './all-transports.ts'

testHostileCode(true)
