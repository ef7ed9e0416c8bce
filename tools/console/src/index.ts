/** The public interface of the console. Users cannot import anything that is not listed here. */
export type { AccessOptions, Allow } from './access.ts'
export type { ConsoleClient, ConsoleClients } from './clients.ts'
export { type ConsoleOptions, consolePage } from './console.ts'
export type {
  ProgramAction,
  ProgramLine,
  ProgramLines,
  Programs,
  ProgramView
} from './programs.ts'
