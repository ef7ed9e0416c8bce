/** Observability of services: traces, metrics and health. Users cannot import anything that is not listed here. */
export { MAX_PATTERNS } from './figures/figures.ts'
export { type HealthPlugin, type HealthPortOptions, type HealthServer, health } from './health/health.ts'
export type { Check, CheckReport, HealthOptions, HealthReport, TransportReport } from './health/report.ts'
export { type PrometheusOptions, prometheus } from './metrics/plugin.ts'
export { type DurationProducer, metricProducer } from './metrics/producer.ts'
export { type TelemetryOptions, telemetry } from './telemetry.ts'
