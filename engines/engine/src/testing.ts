/** The exports for fakes of drivers: a server inside the process. */
export * from './testing/fake-server.ts'
