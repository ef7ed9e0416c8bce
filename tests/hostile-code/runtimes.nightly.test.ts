/** Hostile code on Node LTS and Deno, over the transports whose sockets are theirs. */
import { OTHER_RUNTIMES } from '../support/runtimes.ts'
import { testHostileCodeOn } from './all-transports.ts'

for (const runtime of OTHER_RUNTIMES) testHostileCodeOn(runtime)
