import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common'
import { type Observable, tap } from 'rxjs'
import { AuditLog } from './audit-log.ts'

/** Writes each action and each failure to the audit log. */
@Injectable()
export class AuditInterceptor implements NestInterceptor {
  readonly #log: AuditLog

  constructor(log: AuditLog) {
    this.#log = log
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { name } = context.getHandler()
    return next.handle().pipe(
      tap({
        next: () => this.#log.add(`${name} done`),
        error: (error: Error) => this.#log.add(`${name} failed: ${error.message}`)
      })
    )
  }
}
