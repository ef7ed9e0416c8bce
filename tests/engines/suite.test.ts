/** The suite of the seam over every engine that this process tests. */
import { type EngineUnderTest, engineTests } from '@elysia-microservices/engine-tests'
import { TRIED_ENGINES } from './engines.ts'
import { startHub } from './hub.ts'
import { storingHub } from './hub-store.ts'

/** The hub of the documentation stores events only here: elsewhere, other engines show what stores have in common. */
function withStore(engine: EngineUnderTest): EngineUnderTest {
  return engine.name === 'hub'
    ? { ...engine, traits: storingHub(0).traits, start: () => startHub(storingHub) }
    : engine
}

for (const engine of TRIED_ENGINES) engineTests(withStore(engine))
