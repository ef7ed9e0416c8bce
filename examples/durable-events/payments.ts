/** The handlers of payments: the same class in a Nest application and in a service of Elysia. */
import type { MicroserviceContext } from '@elysia-microservices/nestjs'
import { Controller } from '@nestjs/common'
import { Ctx, EventPattern, Payload, RpcException } from '@nestjs/microservices'
import { Discard } from 'elysia-microservices'

export interface Payment {
  readonly account: string
  readonly cents: number
}

@Controller()
export class Payments {
  readonly #booked = new Set<string>()

  /** Payments of one account in their order; a failed one is tried three times in all, then it is a dead letter. */
  @EventPattern('payments.settled', {
    durable: { ordered: true, start: 'all', retry: { attempts: 3, delay: 200 } }
  })
  settled(@Payload() { account, cents }: Payment, @Ctx() context: unknown) {
    const { id, attempt } = (context as MicroserviceContext).message.delivery!
    // At least once: what was booked is not booked again.
    if (this.#booked.has(id)) return
    if (cents === 0) throw new RpcException(new Discard('nothing to book'))
    // Of any other error Nest's filters leave 'Internal server error', and so would the dead letter.
    if (process.env['BANK'] === 'closed') throw new RpcException('the bank is closed')
    this.#booked.add(id)
    console.log(`${account}: ${cents} cents booked, attempt ${attempt}`)
  }
}
