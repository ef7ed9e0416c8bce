/** Starts a service behind HTTP for the tests of one file. */
import { after, before } from 'node:test'
import type { AnyElysia } from 'elysia'
import type { TcpConnectOptions } from '../client/connect.ts'
import { type Client, connect } from '../client/index.ts'
import { type Listening, listen, newApp } from './http-app.ts'
import type { newService } from './service.ts'

/** The app's address and the client that the app uses; available once the tests run. */
export interface Served<Service> extends Pick<Listening, 'url' | 'port'> {
  readonly client: Client<Service>
}

/**
 * Starts, before the tests, a service and an app with the plugin that `plugin` makes from the service's client.
 * Stops both after the tests.
 */
export function behindGateway<Service extends object>(
  service: Service,
  plugin: (client: Client<Service>) => AnyElysia,
  options: TcpConnectOptions = {}
): Served<Service> {
  const running = service as never as ReturnType<typeof newService>
  let client: Client<Service>
  let http: Listening
  before(async () => {
    await running.listen()
    client = connect<Service>({ host: '127.0.0.1', port: running.address!.port, ...options })
    http = await listen(newApp().use(plugin(client)))
  })
  after(async () => {
    await http.stop()
    await client.close()
    await running.stop()
  })
  return {
    get url() {
      return http.url
    },
    get port() {
      return http.port
    },
    get client() {
      return client
    }
  }
}
