/** Text that travels beside the data: trace context, tenant, credentials. */
export type Headers = Readonly<Record<string, string>>
