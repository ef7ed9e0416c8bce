/** Lets the transport log through Nest's logger, so that its lines appear among those of the application. */
import { inspect } from 'node:util'
import type { Logger } from '@elysia-microservices/transport'
import type { LoggerService } from '@nestjs/common'

/** Makes a logger that writes through Nest's logger. A cause is written as text, with its own causes. */
export function nestLogger(logger: LoggerService): Logger {
  return {
    error: (message, cause) => logger.error(message, ...causeOf(cause)),
    warn: (message, cause) => logger.warn(message, ...causeOf(cause))
  }
}

function causeOf(cause: unknown): string[] {
  return cause === undefined ? [] : [inspect(cause)]
}
