/** The engines over which suites in other folders test what all engines share: few on a push, otherwise all. */
import { isOnPush } from '@elysia-microservices/test-support'
import { underBun } from '../workspace.ts'
import { type EngineUnderTest, inMemory, onHub, onNats } from './shared-engines.ts'

const ON_PUSH = underBun ? [inMemory, onHub] : [onNats]

export const STAND_INS: readonly EngineUnderTest[] = isOnPush
  ? ON_PUSH
  : (await import('./engines.ts')).ENGINES
