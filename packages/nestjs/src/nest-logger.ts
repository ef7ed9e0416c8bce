/** Nest's logger where the transport expects its own, so that its lines stand among those of the application. */
import { inspect } from 'node:util'
import type { Logger } from '@elysia-microservices/transport'
import type { LoggerService } from '@nestjs/common'

/** Writes the transport's lines by Nest's logger; causes as text, with the whole chain behind them. */
export function nestLogger(logger: LoggerService): Logger {
  return {
    error: (message, cause) => logger.error(message, ...causeOf(cause)),
    warn: (message, cause) => logger.warn(message, ...causeOf(cause))
  }
}

function causeOf(cause: unknown): string[] {
  return cause === undefined ? [] : [inspect(cause)]
}
