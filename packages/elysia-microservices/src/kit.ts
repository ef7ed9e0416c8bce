/** The exports for what stands on the plugin beside it, such as the console. Not for users: it changes with what uses it. */
export { follow } from './app/follow.ts'
export { stopWith } from './app/stopping.ts'
export { DESCRIBE_ROUTE } from './description/description.ts'
export { type Row, rowsBetween } from './description/rows.ts'
export { type EventStream, openEventStream } from './gateway/event-stream.ts'
