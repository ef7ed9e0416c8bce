/** Nest's own client over MQTT. */
import { ClientMqtt, type ClientProxy } from '@nestjs/microservices'
import type { OpenEchoClient } from '../echo-client.ts'
import { askThrough } from '../nest/client-proxy.ts'

/**
 * Stays subscribed to the answers. Nest's client (12.1.1) unsubscribes whenever no request is open. It may do so after
 * the server has confirmed the subscription of the next request and before it sends this request, which is then never
 * answered: on a busy machine, all callers of a measurement may be left waiting.
 */
class Subscribed extends ClientMqtt {
  protected override unsubscribeFromChannel(channel: string): void {
    this.subscriptionsCount.set(channel, (this.subscriptionsCount.get(channel) ?? 1) - 1)
  }
}

export const openEchoClient: OpenEchoClient = async (host, port, plan) => {
  const client = new Subscribed({ url: `mqtt://${host}:${port}` })
  await client.connect()
  // The type of its status contradicts the type that it extends.
  return askThrough(client as unknown as ClientProxy, plan)
}
