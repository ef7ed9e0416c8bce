/** See services run: traces, metrics and health. What is not listed here does not exist for users. */
export { MAX_PATTERNS } from './figures/figures.ts'
export { type HealthPlugin, type HealthPortOptions, type HealthServer, health } from './health/health.ts'
export type { Check, CheckReport, HealthOptions, HealthReport, TransportReport } from './health/report.ts'
export { type MetricsOptions, metrics } from './metrics/plugin.ts'
export { type DurationProducer, metricProducer } from './metrics/producer.ts'
export { type TelemetryOptions, telemetry } from './telemetry.ts'
