/** The driver over mosquitto keeps what its interface promises; the fake of it passes the same cases. */
import { after } from 'node:test'
import { driverCases, mqttjs } from '@elysia-microservices/mqtt/testing'
import { isMissing } from '@elysia-microservices/test-support'
import { MosquittoProcess, mosquittoMissing } from '../support/mosquitto-server.ts'

let server: MosquittoProcess | undefined
after(() => server?.stop())

if (!isMissing('the driver of MQTT', mosquittoMissing()))
  driverCases('mosquitto', async () => {
    server ??= await MosquittoProcess.start()
    const { url } = server
    return {
      driver: mqttjs,
      url,
      async restart() {
        await server?.stop()
        await server?.start()
      }
    }
  })
