import { PageCloseAllowanceDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import type { BuyerCreditQuery } from '#control-plane/dashboard/data/documents/buyer-credit.ts'
import { exactMoney } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'

type Props = {
  readonly allowance: Pick<NonNullable<BuyerCreditQuery['allowance']>, 'status' | 'advancedUsdc' | 'owedUsdc'>
  readonly onClose: () => void
}

/** Ends payment from the wallet, after a preview of its credit. */
export function EndLine({ allowance: { status, advancedUsdc, owedUsdc }, onClose }: Props) {
  const say = useToast()
  const end = useChange(PageCloseAllowanceDocument, {
    onDone: () => {
      onClose()
      say('Payment from your wallet has ended.')
    },
  })
  return (
    <Confirm
      title="End payment from your wallet?"
      about="Calls continue on prepaid credit. Sign afterwards to revoke the allowance on chain."
      lines={[
        { name: 'State', now: status, after: 'closed' },
        { name: 'Advanced', now: exactMoney(advancedUsdc), after: 'the unspent part is taken back' },
        { name: 'Spent, not collected', now: exactMoney(owedUsdc), after: 'collected once more' },
      ]}
      action="End it"
      isDanger
      isBusy={end.isPending}
      error={end.error}
      onDo={() => end.mutate({})}
      onClose={onClose}
    />
  )
}
