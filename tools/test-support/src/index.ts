/**
 * Helpers for the tests of several packages. This package imports no other package of this repository, so that the
 * tests of each package may import it. Helpers for tests of several packages together are in `tests/support`.
 */
export { ANY_CHARACTER } from './characters.ts'
export { differsOnDeno } from './deno.ts'
export { EngineProcess } from './engine-process.ts'
export { DEAF_PORT, freePort } from './free-port.ts'
export { isInCheck, isOnPush, onPush, runs } from './gate.ts'
export { type Cut, Link } from './link.ts'
export { Log, type TestLogger } from './log.ts'
export { isMissing } from './missing.ts'
export { assertOneReading, textsOf } from './names.ts'
export { isOnPath } from './on-path.ts'
export { once } from './once.ts'
export { busy, type Promised, promised } from './promised.ts'
export { randomFrom } from './random.ts'
export { keepsIn, RedisSentinelProcess, RedisServerProcess, redisMissing } from './redis-server.ts'
export { DENO, newestNode, oldestNode } from './runtimes.ts'
export { SocketServer } from './socket-server.ts'
export { Timeouts } from './timeouts.ts'
export { aborted, collected, Values } from './values.ts'
export { VirtualTime } from './virtual-time.ts'
export { PATIENCE, pause, until, within } from './within.ts'
