/* The registers of an SPE that other processors may use: its problem-state area.
 *
 * Source: Cell Broadband Engine Architecture, section 8. */
#ifndef _CBEA_MAP_H
#define _CBEA_MAP_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spe_mssync_area {
    volatile unsigned int MFC_MSSync;
} spe_mssync_area_t;

typedef struct spe_mfc_command_area {
    unsigned char reserved_0_3[4];
    volatile unsigned int MFC_LSA;
    volatile unsigned int MFC_EAH;
    volatile unsigned int MFC_EAL;
    volatile unsigned int MFC_Size_Tag;
    union {
        volatile unsigned int MFC_ClassID_CMD;
        volatile unsigned int MFC_CMDStatus;
    };
    unsigned char reserved_18_103[236];
    volatile unsigned int MFC_QStatus;
    unsigned char reserved_108_203[252];
    volatile unsigned int Prxy_QueryType;
    unsigned char reserved_208_21B[20];
    volatile unsigned int Prxy_QueryMask;
    unsigned char reserved_220_22B[12];
    volatile unsigned int Prxy_TagStatus;
} spe_mfc_command_area_t;

typedef struct spe_spu_control_area {
    unsigned char reserved_0_3[4];
    volatile unsigned int SPU_Out_Mbox;
    unsigned char reserved_8_B[4];
    volatile unsigned int SPU_In_Mbox;
    unsigned char reserved_10_13[4];
    volatile unsigned int SPU_Mbox_Stat;
    unsigned char reserved_18_1B[4];
    volatile unsigned int SPU_RunCntl;
    unsigned char reserved_20_23[4];
    volatile unsigned int SPU_Status;
    unsigned char reserved_28_33[12];
    volatile unsigned int SPU_NPC;
} spe_spu_control_area_t;

typedef struct spe_sig_notify_1_area {
    unsigned char reserved_0_B[12];
    volatile unsigned int SPU_Sig_Notify_1;
} spe_sig_notify_1_area_t;

typedef struct spe_sig_notify_2_area {
    unsigned char reserved_0_B[12];
    volatile unsigned int SPU_Sig_Notify_2;
} spe_sig_notify_2_area_t;

/* Mailboxes and signals by the address of an area, as spe_ps_area_get returns it. Loads and
 * stores of the registers above do the same. */
unsigned int _spe_out_mbox_read(void *control_area);
void _spe_in_mbox_write(void *control_area, unsigned int mbox_data);
unsigned int _spe_out_mbox_status(void *control_area);
unsigned int _spe_in_mbox_status(void *control_area);
void _spe_sig_notify_1_write(void *signal_area, unsigned int data);
void _spe_sig_notify_2_write(void *signal_area, unsigned int data);
void _spe_signal_write(void *signal_area, unsigned int data);

#ifdef __cplusplus
}
#endif

#endif
