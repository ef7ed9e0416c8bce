/** The suite of the seam over every engine that this process tests. */
import { engineTests } from '@elysia-microservices/engine-tests'
import { TRIED_ENGINES } from './engines.ts'

for (const engine of TRIED_ENGINES) engineTests(engine)
