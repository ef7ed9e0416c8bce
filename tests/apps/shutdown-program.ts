/**
 * Two services that stop at SIGTERM, each on its own and by default, or together in one app or two apps. The argument is the number of
 * apps.
 */
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { microservice } from 'elysia-microservices'
import { underBun } from '../workspace.ts'

const [, , count] = process.argv
// A service that listens by itself stops at SIGTERM by default.
const inApps = count === '0' ? {} : { shutdownOn: ['SIGTERM'] as const }
const service = (name: string) =>
  microservice({ name, transport: 'tcp', host: '127.0.0.1', port: 0, ...inApps }).message(
    'slow',
    async ({ data }: { data: unknown }) => {
      console.log(`${name} waits`)
      const isTold = typeof data === 'string'
      // The call lasts until the service stops, so the signal always finds the call in flight.
      if (isTold)
        await new Promise((resolve) => drainingOf(name).addEventListener('abort', resolve, { once: true }))
      if (data === 'until told twice') process.kill(process.pid, 'SIGTERM')
      await new Promise((resolve) => setTimeout(resolve, isTold ? 100 : Number(data)))
      return `${name} has answered`
    }
  )
const all = [service('orders'), service('users')] as const
function drainingOf(name: string): AbortSignal {
  return all[name === 'orders' ? 0 : 1].draining
}
for (let n = 0; n < Number(count); n++) {
  const app = new Elysia(underBun ? {} : { adapter: node() })
  for (const one of all) app.use(one)
  app.listen(0)
}
const [orders, users] = await Promise.all(all.map((one) => one.listen()))
console.log(JSON.stringify([orders!.address!.port, users!.address!.port]))
