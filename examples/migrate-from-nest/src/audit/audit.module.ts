import { Module } from '@nestjs/common'
import { AuditLog } from './audit-log.ts'

@Module({ providers: [AuditLog], exports: [AuditLog] })
export class AuditModule {}
