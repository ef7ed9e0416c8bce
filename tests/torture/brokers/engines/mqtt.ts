/** Torture over MQTT. */
import { mqtt } from '@elysia-microservices/mqtt'
import { MosquittoProcess, mosquittoMissing } from '../../../support/mosquitto-server.ts'
import type { Broker } from '../engine.ts'

/** For an engine that stores no events. */
const none = () => Promise.reject(new Error('MQTT stores no events'))

export const onMqtt: Broker = {
  name: 'mqtt',
  title: 'MQTT',
  storesNothing: true,
  missing: mosquittoMissing(),
  hasCluster: false,
  hasLog: false,
  start: async () => [await MosquittoProcess.start()],
  transport: ([url], { clientId } = {}) => mqtt({ url, clientId }),
  countDeadLetters: none,
  delete: none
}
