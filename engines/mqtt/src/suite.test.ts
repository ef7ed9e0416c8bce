/** The suite of the seam over a server inside the process; tests/engines runs it over mosquitto. */
import { engineTests } from '@elysia-microservices/engine-tests'
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
    return {
      port: server.port,
      transport: ({ port = server.port } = {}) => mqttBy(server.driver, { url: `mqtt://127.0.0.1:${port}` }),
      stop: async () => server.stop(),
      start: async () => server.start(),
      suspend: () => server.suspend(),
      resume: () => server.resume(),
      async detour(port = 1_884) {
        const detour = server.detour(port)
        return { port, stop: async () => detour.stop() }
      },
      close: async () => server.stop()
    }
  }
})
