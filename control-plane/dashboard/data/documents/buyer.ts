/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type AllowanceStatus =
  | 'closed'
  | 'none'
  | 'open'
  | 'stopped';

export type CreateOwnProviderInput = {
  readonly apiFormat?: string;
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly label?: string | null | undefined;
  readonly model?: string | null | undefined;
  readonly priority?: number;
  readonly providerModel?: string | null | undefined;
};

export type DepositState =
  | 'credited'
  | 'expired'
  | 'opened'
  | 'refused'
  | 'signed';

export type JobState =
  | 'cancelled'
  | 'failed'
  | 'running'
  | 'succeeded';

/** What is left out stays, null takes a limit away. */
export type UpdateBuyerKeyInput = {
  readonly allowUntrusted?: boolean | null | undefined;
  readonly capDailyUsd?: number | null | undefined;
  readonly capMonthlyUsd?: number | null | undefined;
  readonly expiresAt?: number | null | undefined;
  readonly label?: string | null | undefined;
  readonly minDiscountPct?: number | null | undefined;
  readonly modelsAllowed?: ReadonlyArray<string> | null | undefined;
  readonly providersBlocked?: ReadonlyArray<string> | null | undefined;
  readonly rateLimitRpm?: number | null | undefined;
};

export type PageCancelJobMutationVariables = Exact<{
  id: string;
}>;


export type PageCancelJobMutation = { readonly cancelJob: { readonly id: string, readonly state: JobState } };

export type PageUpdateBuyerKeyMutationVariables = Exact<{
  id: string;
  input: UpdateBuyerKeyInput;
}>;


export type PageUpdateBuyerKeyMutation = { readonly updateBuyerKey: { readonly id: string } };

export type PageTestWebhookMutationVariables = Exact<{
  id: string;
}>;


export type PageTestWebhookMutation = { readonly testWebhook: { readonly status: string, readonly statusCode: number | null, readonly error: string | null } };

export type PageCreateOwnProviderMutationVariables = Exact<{
  input: CreateOwnProviderInput;
}>;


export type PageCreateOwnProviderMutation = { readonly createOwnProvider: { readonly id: string } };

export type PageRemoveOwnProviderMutationVariables = Exact<{
  id: string;
}>;


export type PageRemoveOwnProviderMutation = { readonly removeOwnProvider: { readonly id: string } };

export type PagePutPreferencesMutationVariables = Exact<{
  allowUntrusted: boolean;
  providersBlocked: ReadonlyArray<string> | string;
  minDiscountPct?: number | null | undefined;
}>;


export type PagePutPreferencesMutation = { readonly putPreferences: { readonly minDiscountPct: number | null } };

export type PageCreateOrganizationMutationVariables = Exact<{
  name: string;
}>;


export type PageCreateOrganizationMutation = { readonly createOrganization: { readonly id: string } };

export type PageAcceptInvitationMutationVariables = Exact<{
  invitation: string;
}>;


export type PageAcceptInvitationMutation = { readonly acceptInvitation: { readonly id: string } };

export type PageDeclineInvitationMutationVariables = Exact<{
  invitation: string;
}>;


export type PageDeclineInvitationMutation = { readonly declineInvitation: { readonly id: string } };

export type PageOpenDepositMutationVariables = Exact<{
  amountUsd?: string | null | undefined;
  sender?: string | null | undefined;
}>;


export type PageOpenDepositMutation = { readonly openDeposit: { readonly address: string, readonly chainId: number, readonly asset: string, readonly confirmations: number, readonly sender: string | null, readonly typedData: string | null, readonly deposit: { readonly id: string } | null } };

export type PageSignDepositMutationVariables = Exact<{
  id: string;
  signature: string;
}>;


export type PageSignDepositMutation = { readonly signDeposit: { readonly id: string, readonly status: DepositState } };

export type PageCreateInvitationMutationVariables = Exact<{
  organization: string;
  wallet: string;
  role: string;
}>;


export type PageCreateInvitationMutation = { readonly createInvitation: { readonly id: string } };

export type PageWithdrawInvitationMutationVariables = Exact<{
  organization: string;
  invitation: string;
}>;


export type PageWithdrawInvitationMutation = { readonly withdrawInvitation: { readonly id: string } };

export type PageUpdateMemberMutationVariables = Exact<{
  organization: string;
  member: string;
  role: string;
}>;


export type PageUpdateMemberMutation = { readonly updateMember: { readonly id: string, readonly role: string } };

export type PageRemoveMemberMutationVariables = Exact<{
  organization: string;
  member: string;
}>;


export type PageRemoveMemberMutation = { readonly removeMember: { readonly id: string } };

export type PageOpenAllowanceMutationVariables = Exact<{
  amountUsd?: string | null | undefined;
}>;


export type PageOpenAllowanceMutation = { readonly openAllowance: { readonly status: AllowanceStatus, readonly wallet: string, readonly spender: string, readonly asset: string, readonly typedData: string | null } };

export type PageSignAllowanceMutationVariables = Exact<{
  value: string;
  deadline: number;
  signature: string;
}>;


export type PageSignAllowanceMutation = { readonly signAllowance: { readonly status: AllowanceStatus } };

export type PageCloseAllowanceMutationVariables = Exact<{ [key: string]: never; }>;


export type PageCloseAllowanceMutation = { readonly closeAllowance: { readonly status: AllowanceStatus, readonly wallet: string, readonly spender: string, readonly asset: string, readonly typedData: string | null } };


export const PageCancelJobDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageCancelJob($id: ID!) {
  cancelJob(id: $id) {
    id
    state
  }
}
    `) as unknown as TypedDocumentString<PageCancelJobMutation, PageCancelJobMutationVariables>;
export const PageUpdateBuyerKeyDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageUpdateBuyerKey($id: ID!, $input: UpdateBuyerKeyInput!) {
  updateBuyerKey(id: $id, input: $input) {
    id
  }
}
    `) as unknown as TypedDocumentString<PageUpdateBuyerKeyMutation, PageUpdateBuyerKeyMutationVariables>;
export const PageTestWebhookDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageTestWebhook($id: ID!) {
  testWebhook(id: $id) {
    status
    statusCode
    error
  }
}
    `) as unknown as TypedDocumentString<PageTestWebhookMutation, PageTestWebhookMutationVariables>;
export const PageCreateOwnProviderDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageCreateOwnProvider($input: CreateOwnProviderInput!) {
  createOwnProvider(input: $input) {
    id
  }
}
    `) as unknown as TypedDocumentString<PageCreateOwnProviderMutation, PageCreateOwnProviderMutationVariables>;
export const PageRemoveOwnProviderDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageRemoveOwnProvider($id: ID!) {
  removeOwnProvider(id: $id) {
    id
  }
}
    `) as unknown as TypedDocumentString<PageRemoveOwnProviderMutation, PageRemoveOwnProviderMutationVariables>;
export const PagePutPreferencesDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PagePutPreferences($allowUntrusted: Boolean!, $providersBlocked: [String!]!, $minDiscountPct: Int) {
  putPreferences(
    allowUntrusted: $allowUntrusted
    providersBlocked: $providersBlocked
    minDiscountPct: $minDiscountPct
  ) {
    minDiscountPct
  }
}
    `) as unknown as TypedDocumentString<PagePutPreferencesMutation, PagePutPreferencesMutationVariables>;
export const PageCreateOrganizationDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageCreateOrganization($name: String!) {
  createOrganization(name: $name) {
    id
  }
}
    `) as unknown as TypedDocumentString<PageCreateOrganizationMutation, PageCreateOrganizationMutationVariables>;
export const PageAcceptInvitationDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageAcceptInvitation($invitation: ID!) {
  acceptInvitation(invitation: $invitation) {
    id
  }
}
    `) as unknown as TypedDocumentString<PageAcceptInvitationMutation, PageAcceptInvitationMutationVariables>;
export const PageDeclineInvitationDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageDeclineInvitation($invitation: ID!) {
  declineInvitation(invitation: $invitation) {
    id
  }
}
    `) as unknown as TypedDocumentString<PageDeclineInvitationMutation, PageDeclineInvitationMutationVariables>;
export const PageOpenDepositDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageOpenDeposit($amountUsd: String, $sender: String) {
  openDeposit(amountUsd: $amountUsd, sender: $sender) {
    address
    chainId
    asset
    confirmations
    sender
    typedData
    deposit {
      id
    }
  }
}
    `) as unknown as TypedDocumentString<PageOpenDepositMutation, PageOpenDepositMutationVariables>;
export const PageSignDepositDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageSignDeposit($id: ID!, $signature: String!) {
  signDeposit(id: $id, signature: $signature) {
    id
    status
  }
}
    `) as unknown as TypedDocumentString<PageSignDepositMutation, PageSignDepositMutationVariables>;
export const PageCreateInvitationDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageCreateInvitation($organization: ID!, $wallet: String!, $role: String!) {
  createInvitation(organization: $organization, wallet: $wallet, role: $role) {
    id
  }
}
    `) as unknown as TypedDocumentString<PageCreateInvitationMutation, PageCreateInvitationMutationVariables>;
export const PageWithdrawInvitationDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageWithdrawInvitation($organization: ID!, $invitation: ID!) {
  withdrawInvitation(organization: $organization, invitation: $invitation) {
    id
  }
}
    `) as unknown as TypedDocumentString<PageWithdrawInvitationMutation, PageWithdrawInvitationMutationVariables>;
export const PageUpdateMemberDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageUpdateMember($organization: ID!, $member: ID!, $role: String!) {
  updateMember(organization: $organization, member: $member, role: $role) {
    id
    role
  }
}
    `) as unknown as TypedDocumentString<PageUpdateMemberMutation, PageUpdateMemberMutationVariables>;
export const PageRemoveMemberDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageRemoveMember($organization: ID!, $member: ID!) {
  removeMember(organization: $organization, member: $member) {
    id
  }
}
    `) as unknown as TypedDocumentString<PageRemoveMemberMutation, PageRemoveMemberMutationVariables>;
export const PageOpenAllowanceDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageOpenAllowance($amountUsd: String) {
  openAllowance(amountUsd: $amountUsd) {
    status
    wallet
    spender
    asset
    typedData
  }
}
    `) as unknown as TypedDocumentString<PageOpenAllowanceMutation, PageOpenAllowanceMutationVariables>;
export const PageSignAllowanceDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageSignAllowance($value: String!, $deadline: Float!, $signature: String!) {
  signAllowance(value: $value, deadline: $deadline, signature: $signature) {
    status
  }
}
    `) as unknown as TypedDocumentString<PageSignAllowanceMutation, PageSignAllowanceMutationVariables>;
export const PageCloseAllowanceDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageCloseAllowance {
  closeAllowance {
    status
    wallet
    spender
    asset
    typedData
  }
}
    `) as unknown as TypedDocumentString<PageCloseAllowanceMutation, PageCloseAllowanceMutationVariables>;