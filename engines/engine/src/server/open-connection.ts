/** The state that all answers of a service share: its connection, and the control addresses of calls. */
import type { Logger } from '@elysia-microservices/transport/kit'
import type { AnswersOfTurn } from '../batches.ts'
import type { Engine } from '../carrier.ts'
import type { PartedCarrier } from '../parts/parts.ts'
import type { Callers } from './callers.ts'
import type { Control } from './control.ts'
import type { Subjects } from './subjects.ts'

/** An open connection of a service. */
export interface OpenConnection {
  readonly engine: Engine
  readonly carrier: PartedCarrier
  readonly control: Control
  readonly answers: AnswersOfTurn
  readonly callers: Callers
  readonly logger: Logger
  readonly subjects: Subjects
}
