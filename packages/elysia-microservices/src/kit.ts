/** The exports for what stands on the plugin beside it, such as the console. Not for users: it changes with what uses it. */
export { DESCRIBE_ROUTE, describeRoute } from '@elysia-microservices/transport/kit'
export { type Door, openDoor } from './app/doors.ts'
export { follow } from './app/follow.ts'
export { nodeServerOf, stopWith } from './app/stopping.ts'
export { type Row, rowsBetween } from './description/rows.ts'
