/** Everything that may go wrong in users' code, at each place, over each transport: see `hostile-code.test.ts`. */
import { testHostileCode } from './all-transports.ts'

testHostileCode(false)
