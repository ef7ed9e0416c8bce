/**
 * Exports for packages that build on the plugin, such as the console. Not for users: these exports may change in
 * any version.
 */
export { DESCRIBE_ROUTE, describeRoute } from '@elysia-microservices/transport/kit'
export { type Door, openDoor } from './app/doors.ts'
export { follow } from './app/follow.ts'
export { nodeServerOf, stopWith } from './app/stopping.ts'
export { type Row, rowsBetween } from './description/rows.ts'
export { type Identifiable, requestIdOf } from './gateway/request-id.ts'
export { signalOf, turnOf } from './gateway/signal.ts'
export { Clients } from './gateway/stop.ts'
