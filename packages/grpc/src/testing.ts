/** The exports for tests of other packages: methods whose messages are texts or any JSON; frames of HTTP/2. */
export { GRPC_NEST_OPTIONS } from './nest/nest-options.ts'
export * from './testing/any-json.ts'
export * from './testing/frames.ts'
export * from './testing/service.ts'
