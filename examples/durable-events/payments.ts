/** The handlers of payments. The same class works in a NestJS application and in a service of Elysia. */
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

  /**
   * Handles the payments of one account in order. A failed payment is tried three times in all, and then becomes a
   * dead letter.
   */
  @EventPattern('payments.settled', {
    durable: { ordered: true, start: 'all', retry: { attempts: 3, minDelay: 200 } }
  })
  settled(@Payload() { account, cents }: Payment, @Ctx() context: unknown) {
    const { id, attempt } = (context as MicroserviceContext).message.delivery!
    // An event is delivered at least once, so a payment that was booked must not be booked again.
    if (this.#booked.has(id)) return
    if (cents === 0) throw new RpcException(new Discard('nothing to book'))
    // NestJS's filters replace the message of any other error by 'Internal server error', which the dead letter would
    // then show.
    if (process.env['BANK'] === 'closed') throw new RpcException('the bank is closed')
    this.#booked.add(id)
    console.log(`${account}: ${cents} cents booked, attempt ${attempt}`)
  }
}
