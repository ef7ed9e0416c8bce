/** The public interface of the console. What is not listed here does not exist for users. */
export type { AccessOptions, Allow } from './access.ts'
export type { GivenClient, GivenClients } from './clients.ts'
export { type ConsoleOptions, console } from './console.ts'
