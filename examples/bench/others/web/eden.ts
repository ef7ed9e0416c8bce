/** Eden, Elysia's client. */
import { treaty } from '@elysiajs/eden'
import type { SmallRecord } from '../../payload/samples.ts'
import { readAll, type WebPeer } from '../../suites/web/peer.ts'
import type { EdenApp } from './eden-server.ts'

declare const location: { readonly origin: string }

export function open(): WebPeer {
  const client = treaty<EdenApp>(location.origin)
  return {
    async user(id) {
      const { data, error } = await client.user({ id }).get()
      if (error !== null) throw error
      return data
    },
    async read(name, value) {
      const { data, error } = await client[name].get()
      if (error !== null) throw error
      await readAll(data as AsyncIterable<{ readonly data: SmallRecord | string }>, (event) =>
        value(event.data)
      )
    }
  }
}
