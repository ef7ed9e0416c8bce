/** The exports for tests with peers of other libraries: both ends over sockets, methods whose messages are texts. */
export * from './testing/grpc-sockets.ts'
export * from './testing/service.ts'
