import { useState } from 'react'
import { ask, toMarketError } from '#control-plane/dashboard/data/client.ts'
import { PageStatementFileDocument } from '#control-plane/dashboard/data/documents/statement-files.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Select } from '#control-plane/dashboard/ui/fields.tsx'
import { openLink } from '#control-plane/dashboard/ui/file.ts'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'

const MONTHS_SHOWN = 24
const NAMES = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** The latest UTC months, this one first. */
function latestMonths(now: Date): readonly { readonly value: string; readonly label: string }[] {
  return Array.from({ length: MONTHS_SHOWN }, (_, back) => {
    const at = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back))
    return { value: at.toISOString().slice(0, 7), label: back === 0 ? `${NAMES.format(at)}, so far` : NAMES.format(at) }
  })
}

/** The statement of a month as a file. */
export function StatementFiles() {
  const [months] = useState(() => latestMonths(new Date()))
  const [month, setMonth] = useState(months[0]?.value ?? '')
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Error>()
  const save = async (format: 'csv' | 'pdf') => {
    setBusy(true)
    setError(undefined)
    try {
      const { statementExport } = await ask(PageStatementFileDocument, { month, format })
      if (statementExport !== null) openLink(statementExport.url)
    } catch (thrown) {
      setError(toMarketError(thrown))
    } finally {
      setBusy(false)
    }
  }
  return (
    <Card title="Monthly statements" about="Opening balance, every change, closing balance. Months are UTC">
      <div className="form">
        <Select
          label="Month"
          value={month}
          choices={months}
          onChange={({ currentTarget: { value } }) => setMonth(value)}
        />
        <div className="actions">
          <Button disabled={isBusy} onClick={() => void save('pdf')}>
            Download PDF
          </Button>
          <Button disabled={isBusy} onClick={() => void save('csv')}>
            Download CSV
          </Button>
        </div>
      </div>
      {error === undefined ? null : <ErrorNotice error={error} />}
    </Card>
  )
}
