/** The fake keeps what the driver's interface promises; tests/mqtt/driver.test.ts runs the same cases over mosquitto. */
import { driverCases } from './driver-cases.ts'
import { FakeMqttServer } from './fake-server.ts'

const server = new FakeMqttServer()
driverCases('the fake', async () => ({
  driver: server.driver,
  url: 'mqtt://127.0.0.1:1883',
  async restart() {
    server.stop()
    server.start()
  }
}))
