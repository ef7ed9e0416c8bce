/** Looks up names with `node:dns`, which is loaded at the first lookup. */
import type { Resolver } from '@elysia-microservices/rsocket/pool'

/** The resolver of the runtime. */
export const systemResolver: Resolver = {
  async lookup(host) {
    const { promises } = await import('node:dns')
    return (await promises.lookup(host, { all: true })).map(({ address }) => address)
  },
  async srv(name) {
    const { promises } = await import('node:dns')
    return promises.resolveSrv(name)
  }
}
