/** Functions that the tests of services share. They are not part of the package's interface. */
import { after, before } from 'node:test'
import { connect, type UntypedClient } from '../client/index.ts'
import { microservice } from '../index.ts'

/** The causes of all errors that the services of the tests have logged. */
export const logged: unknown[] = []
const logger = { error: (_text: string, cause?: unknown) => void logged.push(cause), warn() {} }

/** A service on a free port. */
export const newService = () => microservice({ transport: 'tcp', host: '127.0.0.1', port: 0, logger })

/** A service that listens, and functions to call it without types. */
export function listening(
  service: ReturnType<typeof newService> | object,
  protocol: 'nest' | 'rsocket' = 'rsocket'
) {
  const running = service as ReturnType<typeof newService>
  let client: UntypedClient
  before(async () => {
    await running.listen()
    client = connect({ host: '127.0.0.1', port: running.address!.port, protocol })
  })
  after(async () => {
    await client.close()
    await running.stop()
  })
  return () => client
}

/** Makes a service listen, and stops it when `use`, which calls it, has ended. */
export async function asking(
  service: object,
  use: (client: UntypedClient) => Promise<void>,
  protocol: 'nest' | 'rsocket' = 'rsocket'
): Promise<void> {
  const running = service as ReturnType<typeof newService>
  await running.listen()
  const client = connect({ host: '127.0.0.1', port: running.address!.port, protocol })
  try {
    await use(client)
  } finally {
    await client.close()
    await running.stop()
  }
}

/** A promise and the function that resolves it, for something that happens once. */
export function happening<Value = void>() {
  let happen: (value: Value) => void = () => {}
  const happened = new Promise<Value>((resolve) => {
    happen = resolve
  })
  return { happen, happened }
}
