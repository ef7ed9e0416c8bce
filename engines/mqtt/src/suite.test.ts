/** The suite of the seam over a server inside the process; tests/engines runs it over mosquitto. */
import { engineTests, overFake } from '@elysia-microservices/engine-tests'
import { mqtt, mqttBy } from './mqtt.ts'
import { FakeMqttServer } from './testing/fake-server.ts'

engineTests({
  name: 'mqtt',
  title: 'MQTT',
  traits: mqtt().traits,
  carriage: 'packets',
  hasServer: true,
  takesText: true,
  async start() {
    const server = new FakeMqttServer()
    return overFake(server, ({ port = server.port } = {}) =>
      mqttBy(server.driver, { url: `mqtt://127.0.0.1:${port}` })
    )
  }
})
